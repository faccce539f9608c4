// The one exception of model/: something that was asked for at load time cannot be had.
#pragma once

#include <stdexcept>
#include <string>

namespace affine {

/// Thrown while a model, a tokenizer or a device is being made ready, never by Step(). what() is
/// written for the person who started the server: the thing, its value, what is allowed, the
/// remedy; several problems of one checkpoint stand on lines of their own.
class ModelError : public std::runtime_error {
 public:
  explicit ModelError(const std::string& what) : std::runtime_error(what) {}
};

/// The device that was asked for is not there, or this build can't use it.
class DeviceError : public ModelError {
 public:
  explicit DeviceError(const std::string& what) : ModelError(what) {}
};

}  // namespace affine
