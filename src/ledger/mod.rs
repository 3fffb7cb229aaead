//! What has been spent, over all releases of a dataset.
