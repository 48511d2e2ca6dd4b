"""Moving in and out: folders and backups of SillyTavern and RisuAI, read and written without loss."""
