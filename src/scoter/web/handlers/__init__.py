"""The handlers of the API: each class has the routes of one subject."""
