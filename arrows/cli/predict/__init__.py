"""The commands `arrows predict ...`: any saved model on JSON Lines, and two that read files of their own."""
