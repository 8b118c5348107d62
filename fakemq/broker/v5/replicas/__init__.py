"""A broker under a controller: who it is, which role it is given, and what it tells the controller.

Source: broker/controller/ReplicasManager.java (5.5.0)
"""
