bfsql serve --backend postgres --transaction-pooling
