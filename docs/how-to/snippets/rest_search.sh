curl -sw "\n" "http://127.0.0.1:8000/entities?q=apolo%2013&types=Film"
