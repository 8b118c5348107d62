"""A broker under a controller: its id, its roles, and what it says to the controller.

Source: broker/controller/ReplicasManager.java (5.5.0)
"""
