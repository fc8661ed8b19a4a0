"""What an operation computes: its trace, rewritten, differentiated and written as code."""
