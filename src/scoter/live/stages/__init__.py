"""What happens to a URL, one module a stage.

- ``known``       answers from the store what is known well enough, and joins what is under way already
- ``asking``      makes each hop once, for all chains that lead there; it refuses what we do not ask for
- ``resolving``   fetches hop by hop and reads what came
- ``related``     fetches the representative image
- ``archiving``   keeps what came over the wire
- ``concluding``  makes the record, under every URL that it holds for
- ``recording``   stores and announces it, and closes the message's entry
- ``sharing``     how several wait for one piece of work
"""
