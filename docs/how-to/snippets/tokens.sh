bfsql token alice >> tokens.txt
bfsql token bob >> tokens.txt
