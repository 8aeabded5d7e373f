bfsql load staff_today.csv --append --path staff.db --dry-run
