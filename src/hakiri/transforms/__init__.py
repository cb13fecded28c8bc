"""What happens to rows between the source and the store: written by authors as functions over DataFrames."""

from hakiri.transforms.authoring import Transform, pipeline
from hakiri.transforms.loading import load_transforms

__all__ = ["Transform", "load_transforms", "pipeline"]
