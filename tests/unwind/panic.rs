// panic.rs - destructors that run while a panic unwinds.
use std::hint::black_box;
use std::panic;

#[inline(never)]
fn burn(n: u64) -> u64 {
    (0..n).fold(0u64, |sum, i| black_box(sum.wrapping_add(i * i)))
}

struct Guard(u64);

impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        self.0 = burn(300000);
    }
}

#[inline(never)]
fn panicker(n: u32) {
    let guard = Guard(1);
    if n == 0 {
        panic!("panicked");
    }
    panicker(black_box(n - 1));
    black_box(&guard);
}

#[inline(never)]
fn catcher() -> u64 {
    let _ = panic::catch_unwind(|| panicker(3));
    burn(300000)
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    println!("{}", (0..40).map(|_| catcher() % 2).sum::<u64>());
}
