"""The paper's five experiments, three of our own, and Lee and Bareinboim's; `reproduce` runs them."""
