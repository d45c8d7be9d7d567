module lessonkit.example/internal/bench

go 1.26

require lessonkit.example v0.0.0

replace lessonkit.example => ../..
