module airbound

go 1.24.0
