"""The store on PostgreSQL: every moving verb is one conditional statement."""
