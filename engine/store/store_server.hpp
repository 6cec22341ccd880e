#pragma once
// Stores on a server: postgres://USER@HOST:PORT/DATABASE in place of a file's path.

#include <filesystem>
#include <memory>
#include <string>

#include "engine/store/store.hpp"

namespace hone {

/// Whether a store is named by a URL (postgres://, postgresql://) and not by a path. A URL of another scheme counts, too: opening it is an
/// error, where a path would be made into folders.
bool is_store_server(const std::filesystem::path& store);

/// Whether a URL is a server's and it is plain which part of it is the password: it has no @ but the one after the user, and that one
/// before any slash.
bool is_plain_url(const std::string& url);

/// The store's name for people, for logs and for the list of trusted stores: a path as it is, a URL without its passwords. Of plain URLs
/// those of one name are one store.
std::string store_name(const std::filesystem::path& store);

/// Seconds, by the server's clock, for which a session and a worker count as alive after they were last seen: $HONE_LEASE_SECONDS, else 30.
/// The time in which the server was away does not count. And how often they say that they are there.
double lease_seconds();
double heartbeat_seconds();

/// Whether there may be a store: that of a server is known once it is opened.
bool may_have_store(const std::filesystem::path& store);

/// What a program that launches is told of a store that a URL names.
Error needs_a_file(const std::filesystem::path& store);

/// Opens the store that a URL names. Errors, kUnavailable: libpq is not there, or the server cannot be reached; kStore: as open_store.
using OpenServer = Result<std::unique_ptr<Store>> (*)(const std::string& url, StoreMode mode, Trust trust, const StoreView& view);

/// Defined by the assembled libraries (cmake/HoneTargets.cmake generates it): null in hone::runtime, whose programs wait for no network.
OpenServer store_server();

}  // namespace hone
