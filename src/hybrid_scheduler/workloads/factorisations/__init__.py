"""Task graphs of tiled matrix factorisations, by the kernel times that StarPU measured."""
