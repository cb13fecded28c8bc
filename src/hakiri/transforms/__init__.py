"""What happens to rows between the source and the store: written by authors as functions over DataFrames."""

from hakiri.transforms.authoring import Transform, pipeline
from hakiri.transforms.loading import LoadedTransform, load_transforms
from hakiri.transforms.running import failed_step, run_steps

__all__ = ["LoadedTransform", "Transform", "failed_step", "load_transforms", "pipeline", "run_steps"]
