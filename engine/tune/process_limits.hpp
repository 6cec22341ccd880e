#pragma once
// What a compiler or a reader may take of the host: what explodes costs itself.

namespace hone {

/// Limits this process and its children to a few GiB of memory (less on a small host) and to files of some hundred MiB. What is beyond the
/// limit of a file is an error of its writer, not a signal. Under a sanitizer, whose shadow counts as memory, only files are limited.
void limit_this_process();

}  // namespace hone
