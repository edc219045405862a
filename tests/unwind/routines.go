// routines.go - goroutines, whose stacks begin nowhere, and deferred calls in a panic.
package main

import (
	"fmt"
	"sync"
)

//go:noinline
func burn(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += i*i ^ sum
	}
	return sum
}

//go:noinline
func deep(n int) int {
	var a [64]int
	a[n%64] = n
	if n == 0 {
		return burn(2000000)
	}
	return deep(n-1) + a[n%64]
}

//go:noinline
func panics(n int) (result int) {
	defer func() { recover(); result = burn(1000000) }()
	if n > 0 {
		panic("panicked")
	}
	return 0
}

func main() {
	var wait sync.WaitGroup
	var results [4]int
	for i := range results {
		wg, at := &wait, i
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := 0; j < 15; j++ {
				results[at] += deep(10) + panics(j)
			}
		}()
	}
	wait.Wait()
	fmt.Println(results[0] % 2)
}
