#pragma once
// libclang, opened at run time: one binary starts on machines that have none.

#include <clang-c/Index.h>

#include <string>

#include "hone/error.hpp"

namespace hone::kernel {

// Every function the reader calls. The two operator kinds came with version 17: what lacks them is too old.
#define HONE_LIBCLANG_FUNCTIONS(X)                                                                                                         \
  X(createIndex)                                                                                                                           \
  X(disposeIndex)                                                                                                                          \
  X(parseTranslationUnit2) X(disposeTranslationUnit) X(getTranslationUnitCursor) X(visitChildren) X(getCursorKind) X(getCursorSpelling)    \
      X(getCString) X(disposeString) X(getCursorType) X(getCanonicalType) X(getCursorReferenced) X(getCursorDefinition)                    \
          X(getCursorLocation) X(getCursorExtent) X(getRangeStart) X(getRangeEnd) X(getPresumedLocation) X(getExpansionLocation)           \
              X(getFileName) X(tokenize) X(disposeTokens) X(getTokenSpelling) X(getNumDiagnostics) X(getDiagnostic) X(disposeDiagnostic)   \
                  X(getDiagnosticSeverity) X(getDiagnosticSpelling) X(getDiagnosticLocation) X(Cursor_Evaluate) X(EvalResult_getKind)      \
                      X(EvalResult_getAsLongLong) X(EvalResult_getAsDouble) X(EvalResult_dispose) X(Type_getSizeOf) X(getTypeSpelling)     \
                          X(getPointeeType) X(getArrayElementType) X(getArraySize) X(Cursor_getOffsetOfField) X(getTypeDeclaration)        \
                              X(Cursor_getNumArguments) X(Cursor_getArgument) X(getSpecializedCursorTemplate) X(getNumOverloadedDecls)     \
                                  X(getOverloadedDecl) X(getCursorBinaryOperatorKind) X(getCursorUnaryOperatorKind) X(getIncludedFile)     \
                                      X(isCursorDefinition) X(equalCursors) X(Cursor_isNull) X(getCursorSemanticParent)                    \
                                          X(getEnumConstantDeclValue) X(getEnumDeclIntegerType) X(getClangVersion) X(isConstQualifiedType) \
                                              X(getCursorResultType) X(hashCursor) X(Cursor_getTemplateArgumentKind)                       \
                                                  X(Cursor_getNumTemplateArguments) X(Cursor_getTemplateArgumentType)                      \
                                                      X(Cursor_getTemplateArgumentValue) X(getFileContents)

struct Libclang {
#define HONE_MEMBER(name) decltype(&::clang_##name) name = nullptr;
  HONE_LIBCLANG_FUNCTIONS(HONE_MEMBER)
#undef HONE_MEMBER
  std::string path;
  std::string version;

  /// The string's text; the string is disposed of.
  [[nodiscard]] std::string take(CXString string) const;
};

/// Opens libclang at the first call of the process; it stays open, and so does the failure to find one.
const Result<Libclang>& libclang();

}  // namespace hone::kernel
