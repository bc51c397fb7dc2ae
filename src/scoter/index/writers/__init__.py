"""The built-in index writers, and a publisher that shares a connection with one of them.

- ``embedded``    the tantivy index in the crawl directory
- ``files``       CSV, JSON lines, Parquet, and the dummy writer
- ``servers``     Solr, OpenSearch and Elasticsearch
- ``connection``  requests to these servers, with retries
- ``queues``      Kafka and RabbitMQ
- ``amqp``        messages to RabbitMQ, with confirms
- ``events``      the publisher for RabbitMQ
"""
