-- The mark of the last transaction that wrote: the feed has nothing behind it yet.
SELECT n AS mark FROM tenure_sequence WHERE name = 'mark';
