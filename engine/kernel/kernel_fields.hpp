#pragma once
// The fields of each struct of a KernelSpec under their names in JSON, once: visit() calls `field` with each. What writes and what reads
// both go by it. `field.has` is false for what an object lacks because it was recorded before there was any.

#include <concepts>
#include <type_traits>

#include "engine/kernel/kernel_spec.hpp"

namespace hone::kernel_fields {

template <class Subject, class T>
concept Either = std::same_as<std::remove_const_t<Subject>, T>;  // what is read, or what is written

void visit(Either<Parameter> auto& p, auto&& field) {
  field("name", p.name);
  field("kind", p.kind);
  field("values", p.values);
  field("labels", p.labels);
  field("cpp_type", p.cpp_type);
  field("default", p.default_value);
  field("comment", p.comment);
  field("compile_option", p.compile_option);
}

void visit(Either<Initializer> auto& i, auto&& field) {
  field("line", i.line);
  field("column", i.column);
  field("text", i.text);
}

void visit(Either<ProblemField> auto& f, auto&& field) {
  field("name", f.name);
  field("default", f.default_value);
  field("comment", f.comment);
  if (field.has("kind")) {
    field("kind", f.kind);
    field("least", f.least);
    field("most", f.most);
    field("labels", f.labels);
    field("offset", f.offset);
    field("width", f.width);
  }
  field("static", f.initializer);
}

void visit(Either<Constraint> auto& c, auto&& field) {
  field("condition", c.condition);
  field("text", c.text);
  field("line", c.line);
  field("comment", c.comment);
}

void visit(Either<Fill> auto& f, auto&& field) {
  field("low", f.low);
  field("below", f.below);
  field("zeros", f.zeros);
  field("sorted", f.sorted);
  field("distinct", f.distinct);
  field("permutation", f.permutation);
  field("normal", f.normal);
}

void visit(Either<Bound> auto& b, auto&& field) {
  field("absolute", b.absolute);
  field("relative", b.relative);
  field("ulps", b.ulps);
  field("fraction", b.fraction);
  field("set", b.set);
  field("group", b.group);
}

/// But for the element, which is named as the spec names its types.
void visit(Either<Argument> auto& a, auto&& field) {
  field("name", a.name);
  field("direction", a.direction);
  if (field.has("lanes")) {
    field("lanes", a.lanes);
    field("enumeration", a.enumeration);
    field("exact", a.exact);
  }
  field("extent", a.extent);
  field("zeroed", a.zeroed);
  field("scalar_default", a.scalar_default);
  if (field.has("fill")) {
    field("fill", a.fill);
    field("bound", a.bound);
  }
  field("capacity", a.capacity);
}

void visit(Either<TensorMapping> auto& m, auto&& field) {
  field("argument", m.argument);
  field("size", m.size);
  field("box", m.box);
  field("stride", m.stride);
  field("swizzle", m.swizzle);
  field("l2", m.l2);
  field("offset", m.offset);
}

void visit(Either<Alternation> auto& a, auto&& field) {
  field("first", a.first);
  field("result", a.result);
  field("spare", a.spare);
}

void visit(Either<Pass> auto& p, auto&& field) {
  field("function", p.function);
  field("arguments", p.arguments);
  if (field.has("tensor_maps")) {
    field("tensor_maps", p.tensor_maps);
  }
  field("grid", p.grid);
  field("block", p.block);
  field("cluster", p.cluster);
  field("shared_bytes", p.shared_bytes);
  field("cooperative", p.cooperative);
  field("enabled", p.enabled);
  if (field.has("overlap")) {
    field("overlap", p.overlap);
  }
  if (field.has("takes_config")) {
    field("takes_config", p.takes_config);
  }
  if (field.has("repeat")) {
    field("repeat", p.repeat);
    field("alternations", p.alternations);
  }
}

void visit(Either<Cost> auto& c, auto&& field) {
  field("flops", c.flops);
  field("bytes", c.bytes);
  field("sum_length", c.sum_length);
}

void visit(Either<ReferencePass> auto& p, auto&& field) {
  field("function", p.function);
  field("extent", p.extent);
  field("arguments", p.arguments);
  field.unless_empty("fields", p.fields);  // only where it takes the configuration
}

void visit(Either<Generator> auto& g, auto&& field) {
  field("target", g.target);
  field("function", g.function);
  field("extent", g.extent);
  field("returns_element", g.returns_element);
  field("arguments", g.arguments);
}

void visit(Either<Acceptance> auto& a, auto&& field) {
  field("function", a.function);
  field("extent", a.extent);
  field("arguments", a.arguments);
}

/// But for the elements of the arguments, the shapes, which have no names of their own, and the judge.
void visit(Either<KernelSpec> auto& s, auto&& field) {
  field("name", s.name);
  field("summary", s.summary);
  field("file", s.file);
  field("source", s.source);
  field("includes", s.includes);
  field("source_hash", s.source_hash);
  field("templated_on_type", s.templated_on_type);
  if (field.has("type_names")) {
    field("type_names", s.type_names);
  }
  field("dtypes", s.dtypes);
  field("problem", s.problem);
  field("parameters", s.parameters);
  field("constraints", s.constraints);
  if (field.has("expectations")) {
    field("expectations", s.expectations);
  }
  field("arguments", s.arguments);
  field("passes", s.passes);
  field("cost", s.cost);
  field("reference", s.reference);
  if (field.has("generators")) {
    field("generators", s.generators);
    field("acceptances", s.acceptances);
  }
  field.unless_empty("operation", s.operation);
  field.unless_empty("library", s.library);
  field.unless_empty("listed", s.listed);
  field.unless_empty("warnings", s.warnings);
  if (field.has("flags")) {
    field("flags", s.flags);
  }
  if (field.has("cuda_headers")) {
    field("cuda_headers", s.cuda_headers);
  }
}

}  // namespace hone::kernel_fields
