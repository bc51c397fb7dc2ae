from tests.engine.engines import engine, pytest_collection_modifyitems

__all__ = ["engine", "pytest_collection_modifyitems"]
