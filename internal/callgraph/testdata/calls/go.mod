module calls

go 1.26
