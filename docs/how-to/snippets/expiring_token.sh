bfsql token alice --expires 2027-01-31 >> tokens.txt
bfsql token list tokens.txt
