"""Migrations of the campaign database, one file a form; forward only, run by `whichdo.campaign.storage.migration`."""
