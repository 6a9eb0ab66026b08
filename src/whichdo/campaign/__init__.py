"""Campaigns: a policy at work for weeks, losing nothing.

A campaign is an append-only list of events in SQL.  All else is a fold over them (`whichdo.campaign.state`): what has
been asked, told and spent, and, by feeding the log to a fresh run of the policy, what is to be asked next.
"""
