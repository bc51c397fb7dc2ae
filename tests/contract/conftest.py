from tests.engine.engines import engine, pytest_collection_modifyitems, pytest_configure

__all__ = ["engine", "pytest_collection_modifyitems", "pytest_configure"]
