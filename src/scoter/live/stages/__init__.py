"""What happens to a URL, one module a stage.

- ``known``       answers from the store what is known well enough, and joins what is under way already
- ``resolving``  fetches hop by hop and reads what came
- ``related``     fetches the representative image
- ``archiving``   keeps what came over the wire
- ``concluding``  makes the record, under every URL that it holds for
- ``recording``   stores and announces it, and closes the message's entry
"""
