"""What everything stands on: configuration, database, bus, blobs, jobs, accounts, model clients, time and ids."""
