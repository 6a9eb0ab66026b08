"""Whether the evidence still holds, and whether it is enough: certainty, bets, the alarm and what it blames."""
