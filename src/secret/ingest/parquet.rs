//! Rows from Parquet.
