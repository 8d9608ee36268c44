S My sister like to read book in the garden .
A 2 3|||R:VERB:SVA|||likes|||REQUIRED|||-NONE-|||0
A 5 6|||R:NOUN:NUM|||books|||REQUIRED|||-NONE-|||0
A 2 5|||R:VERB:FORM|||likes reading|||REQUIRED|||-NONE-|||1
A 5 6|||R:NOUN:NUM|||books|||REQUIRED|||-NONE-|||1

S Yesterday we go to the market for buy vegetables .
A 2 3|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||0
A 6 7|||R:PART|||to|||REQUIRED|||-NONE-|||0
A 1 1|||M:PUNCT|||,|||REQUIRED|||-NONE-|||1
A 2 3|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||1
A 6 7|||R:PART|||to|||REQUIRED|||-NONE-|||1

S The informations on the poster was wrong .
A 1 2|||R:NOUN:INFL|||information|||REQUIRED|||-NONE-|||0
A 1 2|||R:NOUN:INFL|||information|||REQUIRED|||-NONE-|||1

S He is interesting in old maps .
A 2 3|||R:MORPH|||interested|||REQUIRED|||-NONE-|||0
A 2 3|||R:MORPH|||interested|||REQUIRED|||-NONE-|||1

S If I will have time , I visit you on next Monday .
A 2 3|||U:VERB:TENSE||||||REQUIRED|||-NONE-|||0
A 7 7|||M:VERB:TENSE|||will|||REQUIRED|||-NONE-|||0
A 9 10|||U:PREP||||||REQUIRED|||-NONE-|||0
A 2 3|||U:VERB:TENSE||||||REQUIRED|||-NONE-|||1
A 7 7|||M:VERB:TENSE|||will|||REQUIRED|||-NONE-|||1
A 9 10|||U:PREP||||||REQUIRED|||-NONE-|||1

S There is many reasons to learn a second language .
A 1 2|||R:VERB:SVA|||are|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB:SVA|||are|||REQUIRED|||-NONE-|||1

S She has lived in this town since ten years .
A 6 7|||R:PREP|||for|||REQUIRED|||-NONE-|||0
A 6 7|||R:PREP|||for|||REQUIRED|||-NONE-|||1

S The train was late , so we miss the begining of the film .
A 7 8|||R:VERB:TENSE|||missed|||REQUIRED|||-NONE-|||0
A 9 10|||R:SPELL|||beginning|||REQUIRED|||-NONE-|||0
A 7 8|||R:VERB:TENSE|||missed|||REQUIRED|||-NONE-|||1
A 9 10|||R:NOUN|||start|||REQUIRED|||-NONE-|||1

S I look forward to hear from you soon .
A 4 5|||R:VERB:FORM|||hearing|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB:TENSE|||am looking|||REQUIRED|||-NONE-|||1
A 4 5|||R:VERB:FORM|||hearing|||REQUIRED|||-NONE-|||1

S Everyone were happy with the result .
A 1 2|||R:VERB:SVA|||was|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB:SVA|||was|||REQUIRED|||-NONE-|||1
A 5 6|||R:NOUN:NUM|||results|||REQUIRED|||-NONE-|||1

S The teacher explained us the rule again .
A 3 4|||U:PRON||||||REQUIRED|||-NONE-|||0
A 6 6|||M:OTHER|||to us|||REQUIRED|||-NONE-|||0
A 3 4|||U:PRON||||||REQUIRED|||-NONE-|||1
A 6 6|||M:OTHER|||to us|||REQUIRED|||-NONE-|||1

S We discussed about the plan during two hours .
A 2 3|||U:PREP||||||REQUIRED|||-NONE-|||0
A 5 6|||R:PREP|||for|||REQUIRED|||-NONE-|||0
A 2 3|||U:PREP||||||REQUIRED|||-NONE-|||1
A 5 6|||R:PREP|||for|||REQUIRED|||-NONE-|||1

S It is raining , take your umbrella .
A 4 4|||M:ADV|||so|||REQUIRED|||-NONE-|||0
A 3 4|||R:PUNCT|||;|||REQUIRED|||-NONE-|||1

S My brother , who he is a nurse , works in the night .
A 4 5|||U:PRON||||||REQUIRED|||-NONE-|||0
A 10 11|||R:PREP|||at|||REQUIRED|||-NONE-|||0
A 11 12|||U:DET||||||REQUIRED|||-NONE-|||0
A 4 5|||U:PRON||||||REQUIRED|||-NONE-|||1
A 10 11|||R:PREP|||at|||REQUIRED|||-NONE-|||1
A 11 12|||U:DET||||||REQUIRED|||-NONE-|||1

S Thank you for your kind letter .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S The childs was playing with there toys .
A 1 2|||R:NOUN:INFL|||children|||REQUIRED|||-NONE-|||0
A 2 3|||R:VERB:SVA|||were|||REQUIRED|||-NONE-|||0
A 5 6|||R:SPELL|||their|||REQUIRED|||-NONE-|||0
A 1 2|||R:NOUN:INFL|||children|||REQUIRED|||-NONE-|||1
A 2 3|||R:VERB:SVA|||were|||REQUIRED|||-NONE-|||1
A 5 6|||R:SPELL|||their|||REQUIRED|||-NONE-|||1

S She suggested me to take an other bus .
A 2 2|||M:PREP|||that|||REQUIRED|||-NONE-|||0
A 2 3|||R:PRON|||I|||REQUIRED|||-NONE-|||0
A 3 4|||U:VERB:FORM||||||REQUIRED|||-NONE-|||0
A 5 7|||R:ORTH|||another|||REQUIRED|||-NONE-|||0
A 2 3|||R:PRON|||I|||REQUIRED|||-NONE-|||1
A 3 4|||U:VERB:FORM||||||REQUIRED|||-NONE-|||1
A 5 7|||R:ORTH|||another|||REQUIRED|||-NONE-|||1

S I am agree with the most of your ideas .
A 1 2|||U:VERB:TENSE||||||REQUIRED|||-NONE-|||0
A 4 5|||U:DET||||||REQUIRED|||-NONE-|||0
A 1 2|||U:VERB:TENSE||||||REQUIRED|||-NONE-|||1
A 4 5|||U:DET||||||REQUIRED|||-NONE-|||1

S How do you call this flower in English ?
A 0 1|||R:OTHER|||What|||REQUIRED|||-NONE-|||0
A 0 1|||R:OTHER|||What|||REQUIRED|||-NONE-|||1

S The bridge was build in 1890 and is still used .
A 3 4|||R:VERB:FORM|||built|||REQUIRED|||-NONE-|||0
A 3 4|||R:VERB:FORM|||built|||REQUIRED|||-NONE-|||1
A 9 9|||M:PREP|||in|||REQUIRED|||-NONE-|||1
A 9 10|||R:MORPH|||use|||REQUIRED|||-NONE-|||1

