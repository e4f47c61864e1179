//! One connection at work: portions in, transactions out.
