bfsql load staff_today.csv --append --remove staff_gone.csv --path staff.db > load.log || echo "exit code $?"
cat load.log
