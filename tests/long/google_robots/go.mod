module google-robots

go 1.21

require github.com/jimsmart/grobotstxt v1.0.3
