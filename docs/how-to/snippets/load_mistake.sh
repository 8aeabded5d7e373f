bfsql load staff.csv reports.csv --path staff.db 2>&1 || echo "exit code $?"
