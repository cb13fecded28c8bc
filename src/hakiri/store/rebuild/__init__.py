"""The catalog from the tree: what the files of a store tell, and what a catalog made of that holds.

Reading changes nothing. What comes of it is one frozen value, which says what was found and what nothing
tells any more, before anybody writes anything.
"""
