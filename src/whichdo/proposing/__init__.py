"""From data and a drawing to a problem: domains, cut points, ranges and groups as a careful reader would choose."""
