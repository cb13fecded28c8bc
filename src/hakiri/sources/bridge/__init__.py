"""From a connector to Spark: as a data source, or straight into files inside a task."""
