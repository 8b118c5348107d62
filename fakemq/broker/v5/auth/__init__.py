"""Auth 2.0: users of a broker, their rights, and the check of each request.

Source: rocketmq-auth (5.5.0)
"""
