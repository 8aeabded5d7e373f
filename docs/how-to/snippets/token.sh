umask 077
printf '%s' "put-a-long-random-text-here" > token.txt
