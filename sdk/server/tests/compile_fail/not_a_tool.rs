use odek_sdk::Extension;

fn plain(_path: String) -> String {
    String::new()
}

fn main() {
    let _ = Extension::new("example", "0.1.0").tool(plain);
}
