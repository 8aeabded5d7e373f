mkdir bfsql-notes/tests/garden
cd bfsql-notes/tests/garden

cat > Tea.md <<'END'
type:: Drink
made_of:: [[Water]], [[Tea leaf]]

What [[Grandmother]] gives to everybody who is sad.
END

cat > Water.md <<'END'
type:: Ingredient

Just off the boil.
END

cat > "Tea leaf.md" <<'END'
type:: Ingredient

Grows in the shade. Some of it ends up in [[Kombucha]].
END

cat > Grandmother.md <<'END'
type:: Person

Knows more of [[Tea leaf|leaves]] than of [[Water]].
END
