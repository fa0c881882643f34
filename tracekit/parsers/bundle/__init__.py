"""The native reader of ``.trace`` bundles: a folder, or a zip or tar of one."""
