"""Models: loading by folder, shipped name or hub id; the bidirectional T5; int8; conversion; identity."""
