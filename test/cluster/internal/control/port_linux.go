package control

// soReusePort is missing in package syscall for some processors.
const soReusePort = 0xf
