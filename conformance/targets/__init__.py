"""The clusters that scenarios and live tests run on, and how to start them."""
